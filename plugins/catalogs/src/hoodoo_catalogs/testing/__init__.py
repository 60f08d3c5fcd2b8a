"""For tests of catalogs: the contract suite, and fakes that fail and hang."""
