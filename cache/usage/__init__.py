"""Usage: what nodes really use, asked of a monitoring system now and then and put into the books.

Belongs here: how each kind of source is asked, and what its answers mean. Does not: what is made of the measurements
(that is the plugin's), how the section of the configuration is read (`framework.configuration`).
"""
