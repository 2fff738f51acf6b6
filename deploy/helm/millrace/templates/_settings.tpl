{{/* Settings as environment variables: the setting kafka.brokers is MILLRACE_KAFKA_BROKERS. */}}

{{/* A value as the programs read it: numbers in full, lists with commas. */}}
{{- define "millrace.value" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if kindIs "float64" . -}}
{{- if eq . (floor .) }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- else -}}
{{- . -}}
{{- end -}}
{{- end -}}

{{/* One NAME: value a line of everything below a place of config; prefix and values. */}}
{{- define "millrace.flatten" -}}
{{- range $key, $value := .values }}
{{- $name := printf "%s_%s" $.prefix (upper $key) }}
{{- if kindIs "map" $value }}
{{- include "millrace.flatten" (dict "prefix" $name "values" $value) }}
{{- else if not (kindIs "invalid" $value) }}
{{ $name }}: {{ include "millrace.value" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What the chart itself decides, over which extraEnv still wins. */}}
{{- define "millrace.settings" -}}
MILLRACE_ADMIN_LISTEN: ":9464"
MILLRACE_INGEST_LISTEN: ":8081"
MILLRACE_QUERY_LISTEN: ":8080"
{{- if .Values.edge.links.enabled }}
MILLRACE_LINK_LISTEN: ":8082"
{{- if and .Values.standalone.enabled (not (dig "link" "public_url" "" .Values.config)) }}
MILLRACE_LINK_PUBLIC_URL: http://127.0.0.1:8082
{{- end }}
{{- end }}
{{- if .Values.standalone.enabled }}{{/* a trial is reached through kubectl port-forward, unless told otherwise */}}
{{- if not (dig "ingest" "public_url" "" .Values.config) }}
MILLRACE_INGEST_PUBLIC_URL: http://127.0.0.1:8081
{{- end }}
{{- if not (dig "query" "public_url" "" .Values.config) }}
MILLRACE_QUERY_PUBLIC_URL: http://127.0.0.1:8080
{{- end }}
{{- /* All daemons, and ClickHouse, share the memory of one container. */}}
{{- range $path, $bound := dict "sink.window_memory" "268435456" "link.cache_entries" "100000" "flags.max_streams" "1000" }}
{{- $at := splitList "." $path }}
{{- if not (dig (first $at) (last $at) "" $.Values.config) }}
{{ include "millrace.envName" $path }}: {{ $bound | quote }}
{{- end }}
{{- end }}
{{- end }}
{{- range $host, $component := dict "ingest" "edge" "query" "query" }}
{{- $idle := include "millrace.albTimeout" (dict "root" $ "component" $component) | int | add 15 }}
{{- if and (eq $.Values.ingress.controller "alb") (get $.Values.ingress $component).enabled (gt $idle 100) (not (dig $host "idle_time" "" $.Values.config)) }}
MILLRACE_{{ upper $host }}_IDLE_TIME: {{ printf "%vs" $idle }}
{{- end }}
{{- end }}
{{- include "millrace.flatten" (dict "prefix" "MILLRACE" "values" .Values.config) }}
{{- end -}}

{{/* env entries of the settings. They stand in the pod: out of an object of their own, which an upgrade changes, a pod
of the version before would take a setting that it does not know, and end. Kubernetes reads a dollar sign that stands
twice as one. */}}
{{- define "millrace.settingsEnv" -}}
{{- range $name, $value := include "millrace.settings" . | fromYaml }}
- {name: {{ $name }}, value: {{ $value | replace "$" "$$" | quote }}}
{{- end }}
{{- end -}}

{{/* Which variables a component does without, as a pattern: it is given neither settings nor secrets of servers that it
does not ask. The operator's commands and standalone mode need all. */}}
{{- define "millrace.unused" -}}
{{- $servers := dict "edge" "CLICKHOUSE|MAIL" "sink" "STORE|REDIS|BILLING|MAIL" "query" "BILLING_TOKEN" }}
{{- $servers = merge $servers (dict "migrate" "KAFKA|REDIS|BILLING|MAIL" "topics" "CLICKHOUSE|STORE|REDIS|BILLING|MAIL") }}
{{- $servers = merge $servers (dict "bootstrap" "KAFKA|CLICKHOUSE|REDIS|BILLING|MAIL") }}
{{- printf "^MILLRACE_(%s)(_|$)" (get $servers .component | default "-") -}}
{{- end -}}

{{/* The references in a tree of secrets or files: {references: [{path: a.b.c, …}]}. */}}
{{- define "millrace.references" -}}
{{- range $key, $value := .values }}
{{- $path := ternary $key (printf "%s.%s" $.path $key) (eq $.path "") }}
{{- if hasKey $value "key" }}
{{- if or $value.name $value.secret $value.configMap }}
{{ toYaml (list (merge (dict "path" $path) $value)) }}
{{- end }}
{{- else }}
{{- include "millrace.references" (dict "path" $path "values" $value) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "millrace.envName" -}}
MILLRACE_{{ . | upper | replace "." "_" }}
{{- end -}}

{{/* env entries of secrets and of the paths of files. */}}
{{- define "millrace.secretEnv" -}}
{{- range (include "millrace.references" (dict "path" "" "values" .Values.secrets) | fromYamlArray) }}
- name: {{ include "millrace.envName" .path }}
  valueFrom:
    secretKeyRef:
      name: {{ .name }}
      key: {{ .key | quote }}
{{- end }}
{{- range (include "millrace.references" (dict "path" "" "values" .Values.files) | fromYamlArray) }}
- name: {{ include "millrace.envName" .path }}
  value: {{ printf "/etc/millrace/%s/%s" (.path | replace "." "-" | replace "_" "-") .key | quote }}
{{- end }}
{{- end -}}

{{/* The references of files that a component uses; root and component. */}}
{{- define "millrace.files" -}}
{{- $unused := include "millrace.unused" . }}
{{- range (include "millrace.references" (dict "path" "" "values" .root.Values.files) | fromYamlArray) }}
{{- if not (regexMatch $unused (include "millrace.envName" .path)) }}
{{ toYaml (list .) }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "millrace.fileVolumes" -}}
{{- range (include "millrace.files" . | fromYamlArray) }}
- name: {{ .path | replace "." "-" | replace "_" "-" }}
  {{- if .secret }}
  secret:
    secretName: {{ .secret }}
    defaultMode: 0440
  {{- else }}
  configMap:
    name: {{ .configMap }}
    defaultMode: 0444
  {{- end }}
{{- end }}
{{- end -}}

{{- define "millrace.fileMounts" -}}
{{- range (include "millrace.files" . | fromYamlArray) }}
- name: {{ .path | replace "." "-" | replace "_" "-" }}
  mountPath: {{ printf "/etc/millrace/%s" (.path | replace "." "-" | replace "_" "-") }}
  readOnly: true
{{- end }}
{{- end -}}

{{/* Seconds of a duration such as 1m30s, rounded up. */}}
{{- define "millrace.seconds" -}}
{{- $sum := 0.0 -}}
{{- range regexFindAll "[0-9.]+(ms|h|m|s)" . -1 -}}
{{- $unit := regexFind "[a-z]+" . -}}
{{- $factor := get (dict "ms" 0.001 "s" 1.0 "m" 60.0 "h" 3600.0) $unit -}}
{{- $sum = addf $sum (mulf (trimSuffix $unit . | float64) $factor) -}}
{{- end -}}
{{- ceil $sum | int64 -}}
{{- end -}}

{{/* The time that a pod is given to end: what it takes at most, and some to spare. */}}
{{- define "millrace.gracePeriod" -}}
{{- $delay := include "millrace.seconds" .Values.config.shutdown.delay | int -}}
{{- $grace := include "millrace.seconds" .Values.config.shutdown.grace | int -}}
{{- add .Values.preStopSeconds $delay $grace 10 -}}
{{- end -}}
