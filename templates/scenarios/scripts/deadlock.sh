SCHEMA="lock:db/schema/$RUN"
STAGING="lock:deploy/staging/$RUN"

must '"fencingToken":1' "$(ask lease "$ANA" "$SCHEMA")"
must '"fencingToken":1' "$(ask lease "$BEA" "$STAGING")"
must '"position":1' "$(ask lease "$ANA" "$STAGING")"
refused=$(ask lease "$BEA" "$SCHEMA")
must '"reason":"deadlock"' "$refused"
must "\"waitingOn\":\"$STAGING\"" "$refused"
# {% if spanish %}Bea devuelve lo suyo, y Ana pasa.{% else %}Bea gives hers back, and Ana goes on.{% endif %}
must '"released"' "$(ask release "$BEA" "$STAGING")"
must '"fencingToken":2' "$(ask lease "$ANA" "$STAGING")"
must '"released"' "$(ask release "$ANA" "$STAGING")"
must '"released"' "$(ask release "$ANA" "$SCHEMA")"
