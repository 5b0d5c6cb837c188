"""The pages, a module for each group: ``routes(site)`` gives its routes; ``web/app.py`` lists them all."""
