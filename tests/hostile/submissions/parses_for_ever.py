"""Is a text that no parser likes."""
value = eval("(" * 3000 + ")" * 3000)
