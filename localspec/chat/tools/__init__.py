"""Tools that a model may call: a few of LocalSpec's own and those of MCP servers, approved by the user call by call."""
