#!/bin/sh
# {{ title }} ({{ base_url }}, curl).
#
#     INTRAMEDIAL_KEY=imk_… sh {{ file }}
set -eu
: "${INTRAMEDIAL_KEY:?}"
API='{{ base_url }}/api/v1/acp/coordination'
RUN=$$
ANA='did:web:agents.example:ana'
BEA='did:web:agents.example:bea'

# ask OPERATION AGENT RESOURCE [MORE]
ask() {
  curl -sS "$API/$1" -H "Authorization: Bearer $INTRAMEDIAL_KEY" -H 'Content-Type: application/json' \
    -d "{\"resource\": \"$3\", \"actorDid\": \"$2\"${4:-}}"
  echo
}
# must TEXT ANSWER: the answer has the text
must() {
  printf '%s\n' "$2" | cut -c 1-160
  case $2 in *"$1"*) ;; *) echo "{% if spanish %}no dice{% else %}does not say{% endif %} $1" >&2; exit 1 ;; esac
}
member() { printf '%s\n' "$2" | sed -n "s/.*\"$1\": *\"\{0,1\}\([^\",}]*\).*/\1/p"; }

{{ story }}
