"""The response store on a PostgreSQL server, which processes on many machines share; the home of psycopg."""
