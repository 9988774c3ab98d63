"""One scheduler for all that learns: synthesis after hard runs, patterns and gaps.

What there is to do lies in the store of experience, so that any process may do it, one at a time.
"""
