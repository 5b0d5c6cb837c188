"""JavaScript as promptfoo has it: V8, its values, and nunjucks templates."""
