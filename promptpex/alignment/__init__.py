"""How far assertions agree with what people say of outputs, and which to keep by that (EvalGen, arXiv 2404.12272)."""
