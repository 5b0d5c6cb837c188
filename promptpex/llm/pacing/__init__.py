"""When a request is sent: queues, limits, retries, budget, circuit breaker, cancellation."""
