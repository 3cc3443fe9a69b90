"""The discovery of models on the Hub: the search, the page of a repository, and drafts that fit a target."""
