class CompiledFxGraph:
    def __init__(self, current_callable):
        self.current_callable = current_callable

    def __call__(self, inputs):
        return self.current_callable(inputs)
