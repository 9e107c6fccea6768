"""One HTML page that needs nothing else: views of tables and figures, SVG, and the template that holds them."""
