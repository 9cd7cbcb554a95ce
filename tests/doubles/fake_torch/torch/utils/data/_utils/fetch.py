class _MapDatasetFetcher:
    def __init__(self, items):
        self.items = items

    def fetch(self, index):
        return self.items[index]


class _IterableDatasetFetcher:
    def __init__(self, items):
        self.items = iter(items)

    def fetch(self, index):
        return next(self.items)
