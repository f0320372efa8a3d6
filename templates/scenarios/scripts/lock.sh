LOCK="lock:deploy/production/$RUN"

must '"fencingToken":1' "$(ask lease "$ANA" "$LOCK")"
must '"position":1' "$(ask lease "$BEA" "$LOCK")"
must '"trust"' "$(ask release "$ANA" "$LOCK")"
must '"fencingToken":2' "$(ask lease "$BEA" "$LOCK")"
must '"released"' "$(ask release "$BEA" "$LOCK")"
echo '2 > 1'
