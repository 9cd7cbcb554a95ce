"""Land cover from satellite scenes: stages that are put together to a pipeline."""
