"""Papers (PDF, Word, Excel, notebooks, web pages) as text, read in a child process with limits."""
