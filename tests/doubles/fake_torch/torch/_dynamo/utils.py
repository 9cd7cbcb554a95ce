import collections

guard_failures = collections.defaultdict(list)  # by code: what guards refused
