LOCK="lock:deploy/production/$RUN"

lost=$(ask lease "$ANA" "$LOCK")
must '"fencingToken":1' "$lost"
must '"position":1' "$(ask lease "$BEA" "$LOCK")"
# {% if spanish %}Ana ya no contesta. Bea espera a que caduque lo suyo.{% else %}Ana answers no more. Bea waits until her lease runs out.{% endif %}
sleep "$(( ($(member ttlMs "$lost") + 999) / 1000 ))"
must '"fencingToken":2' "$(ask lease "$BEA" "$LOCK")"
# {% if spanish %}Ana vuelve tarde: no cambia nada.{% else %}Ana comes back late: nothing changes.{% endif %}
must '"stale_lease"' "$(ask release "$ANA" "$LOCK" ", \"leaseId\": \"$(member leaseId "$lost")\"")"
must '"released"' "$(ask release "$BEA" "$LOCK")"
echo '2 > 1'
