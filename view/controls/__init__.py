"""The controls of the sidebar. Each edits one setting of the scenario, says what it does, and names its vLLM flag."""
