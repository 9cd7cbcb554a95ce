import time


class _MultiProcessingDataLoaderIter:
    def _get_data(self):
        time.sleep(0.01)
        return 1
