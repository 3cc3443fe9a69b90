"""Downloads of model files from the Hub into its cache, by Range requests, so that no byte is fetched twice.

``Hub`` lists repositories, ``read_remote_header`` reads the header of a remote file, ``download`` fetches files
concurrently. The cache is written exactly as ``huggingface_hub`` writes it.
"""
