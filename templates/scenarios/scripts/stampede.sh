FILE="file:reports/$RUN.csv"
answers=$(mktemp -d)
trap 'rm -r "$answers"' EXIT

# take_part NUMBER: {% if spanish %}pide, espera lo que le dicen y un poco más, y lo devuelve{% else %}asks, waits as told and a little longer, gives it back{% endif %}
take_part() {
  agent="did:web:agents.example:agent-$1"
  while :; do
    answer=$(ask lease "$agent" "$FILE")
    case $answer in *'"ok":true'*) break ;; esac
    sleep "$(printf '0.%03d' "$(( $(member waitMs "$answer") + $1 ))")"
  done
  member fencingToken "$answer" > "$answers/$1"
  ask release "$agent" "$FILE" > /dev/null
}

number=1
while [ "$number" -le {{ crowd }} ]; do
  take_part "$number" &
  number=$((number + 1))
done
wait
tokens=$(cat "$answers"/* | sort -n)
[ "$(printf '%s\n' "$tokens" | uniq | wc -l)" -eq {{ crowd }} ]
printf '%s\n' "$tokens" | sed -n '1h;$!d;H;x;s/\(.*\)\n\(.*\)/\2 > \1/p'
