"""Files of requests answered without a server: OpenAI's batch format, through the same APIs."""
