{{/* Services, ways in, and budgets: what edge and query have in common. */}}

{{- define "millrace.service" -}}
{{- $service := .values.service }}
apiVersion: v1
kind: Service
metadata:
  {{- include "millrace.metadata" (merge (dict "annotations" $service.annotations) .) | nindent 2 }}
spec:
  type: {{ $service.type }}
  {{- with $service.externalTrafficPolicy }}
  externalTrafficPolicy: {{ . }}
  {{- end }}
  {{- with $service.loadBalancerSourceRanges }}
  loadBalancerSourceRanges:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  selector:
    {{- include "millrace.selector" . | nindent 4 }}
  ports:
    - {name: http, port: {{ $service.port }}, targetPort: http, protocol: TCP}
    {{- with .links }}
    - {name: links, port: {{ . }}, targetPort: links, protocol: TCP}
    {{- end }}
{{- end -}}

{{- define "millrace.budget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  {{- include "millrace.metadata" . | nindent 2 }}
spec:
  maxUnavailable: {{ .values.podDisruptionBudget.maxUnavailable }}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "millrace.selector" . | nindent 6 }}
{{- end -}}

{{/* Seconds of the longest answer of a host: edge, which has 30 s for what comes before and after the wait for Kafka, or
query; root and component. */}}
{{- define "millrace.longest" -}}
{{- if eq .component "edge" -}}
{{- add 35 (include "millrace.seconds" (dig "ingest" "deadline" "5s" .root.Values.config)) -}}
{{- else -}}
{{- add 5 (include "millrace.seconds" (dig "query" "export" "deadline" "30m" .root.Values.config)) -}}
{{- end -}}
{{- end -}}

{{/* Seconds for which an ALB bears an answer without a byte, and keeps a connection that it does not use: it takes no
more than 4000. Hosts keep connections for longer than that, see millrace.settings. */}}
{{- define "millrace.albTimeout" -}}
{{- min 4000 (include "millrace.longest" .) -}}
{{- end -}}

{{/* What a controller must be told so that large bodies and slow answers pass; seconds is the longest answer. */}}
{{- define "millrace.recipe" -}}
{{- if eq .controller "nginx" }}
nginx.ingress.kubernetes.io/proxy-body-size: 64m
nginx.ingress.kubernetes.io/proxy-request-buffering: "off"
nginx.ingress.kubernetes.io/proxy-read-timeout: {{ .seconds | quote }}
nginx.ingress.kubernetes.io/proxy-send-timeout: {{ .seconds | quote }}
nginx.ingress.kubernetes.io/proxy-next-upstream: "off"
{{- else if eq .controller "haproxy" }}
haproxy-ingress.github.io/proxy-body-size: 64m
haproxy-ingress.github.io/timeout-server: {{ printf "%vs" .seconds }}
haproxy-ingress.github.io/timeout-http-request: 30s
{{- else if eq .controller "alb" }}
alb.ingress.kubernetes.io/target-type: ip
alb.ingress.kubernetes.io/healthcheck-port: "9464"
alb.ingress.kubernetes.io/healthcheck-path: /readyz
alb.ingress.kubernetes.io/load-balancer-attributes: {{ printf "idle_timeout.timeout_seconds=%v" (min .seconds 4000) }}
alb.ingress.kubernetes.io/target-group-attributes: deregistration_delay.timeout_seconds=30
{{- end }}
{{- end -}}

{{/* The port of a URL. */}}
{{- define "millrace.urlPort" -}}
{{- $url := urlParse . -}}
{{- regexFind ":[0-9]+$" $url.host | trimPrefix ":" | default (ternary "443" "80" (eq $url.scheme "https")) -}}
{{- end -}}

{{/* An Ingress: root, component, values and seconds. */}}
{{- define "millrace.ingress" -}}
{{- $way := get .root.Values.ingress .component }}
{{- $recipe := include "millrace.recipe" (dict "controller" .root.Values.ingress.controller "seconds" .seconds) | fromYaml }}
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  {{- include "millrace.metadata" (merge (dict "annotations" (merge (dict) $way.annotations (default (dict) $recipe))) .) | nindent 2 }}
spec:
  {{- with .root.Values.ingress.className }}
  ingressClassName: {{ . }}
  {{- end }}
  {{- with $way.tlsSecret }}
  tls:
    - secretName: {{ . }}
      hosts:
        {{- toYaml $way.hosts | nindent 8 }}
  {{- end }}
  rules:
    {{- range $way.hosts }}
    - host: {{ . | quote }}
      http:
        paths:
          - path: /
            pathType: Prefix
            backend:
              service:
                name: {{ include "millrace.backend" $ }}
                port: {number: {{ $.port }}}
    {{- end }}
{{- end -}}

{{/* The Service behind a way in: standalone mode has one for all hosts, and the edge one for both of its. */}}
{{- define "millrace.backend" -}}
{{- include "millrace.component" (dict "root" .root "component" (ternary "standalone" (ternary "edge" .component (eq .component "links")) .root.Values.standalone.enabled)) -}}
{{- end -}}

{{/* An HTTPRoute: root, component and seconds. Gateways may count from a request's first byte, and its
body may take 75 s. */}}
{{- define "millrace.route" -}}
{{- $way := get .root.Values.gateway .component }}
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata:
  {{- include "millrace.metadata" (merge (dict "annotations" $way.annotations) .) | nindent 2 }}
spec:
  parentRefs:
    {{- toYaml $way.parentRefs | nindent 4 }}
  {{- with $way.hostnames }}
  hostnames:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  rules:
    - matches:
        - path: {type: PathPrefix, value: /}
      timeouts:
        request: {{ printf "%vs" (add 75 .seconds) }}
      backendRefs:
        - name: {{ include "millrace.backend" . }}
          port: {{ .port }}
{{- end -}}

{{/* Not empty where the query host probes. */}}
{{- define "millrace.probing" -}}
{{- if dig "probe" "interval" "0s" .Values.config | regexMatch "[1-9]" }}true{{ end -}}
{{- end -}}

{{/* The rules of a NetworkPolicy by which pods reach what the settings name. */}}
{{- define "millrace.egress" -}}
{{- $ports := .Values.networkPolicy.backendPorts }}
{{- range concat (dig "kafka" "brokers" (list) .Values.config) (dig "clickhouse" "addr" (list) .Values.config) (dig "mail" "smtp" "addr" "" .Values.config | list) | compact }}
{{- $ports = append $ports (regexFind "[0-9]+$" . | int) }}
{{- end }}
{{- $dns := list 53 }}
{{- with dig "domains" "resolver" "" .Values.config }}
{{- $dns = append $dns (regexFind "[0-9]+$" . | int) | uniq }}
{{- end }}
{{- $urls := list (dig "billing" "url" "" .Values.config) (dig "trace" "endpoint" "" .Values.config) }}
{{- if include "millrace.probing" . }}
{{- range list "ingest" "query" }}
{{- $public := dig . "public_url" "" $.Values.config }}
{{- $urls = append $urls (dig "probe" (printf "%s_url" .) "" $.Values.config | default $public) }}
{{- end }}
{{- end }}
{{- range $urls | compact }}
{{- $ports = append $ports (include "millrace.urlPort" . | int) }}
{{- end }}
- ports:
    {{- range $dns }}
    - {port: {{ . }}, protocol: UDP}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
- ports:
    {{- range $ports | uniq }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- with .Values.networkPolicy.extraEgress }}
{{ toYaml . }}
{{- end }}
{{- end -}}
