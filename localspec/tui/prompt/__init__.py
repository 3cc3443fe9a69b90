"""The prompt: its text area, completion, attachments and pastes."""
