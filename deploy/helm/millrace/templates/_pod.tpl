{{/* What all pods have in common. */}}

{{/* An image: root, and image, whose empty values are the chart's. */}}
{{- define "millrace.image" -}}
{{- $name := .image.repository -}}
{{- with .root.Values.image.registry }}{{ $name = printf "%s/%s" . $name }}{{ end -}}
{{- if .image.digest -}}
{{- printf "%s@%s" $name .image.digest -}}
{{- else -}}
{{- printf "%s:%s" $name (default .root.Chart.AppVersion .image.tag) -}}
{{- end -}}
{{- end -}}

{{/* Bytes of a quantity such as 512Mi. */}}
{{- define "millrace.bytes" -}}
{{- $quantity := toString . -}}
{{- $unit := regexFind "[A-Za-z]*$" $quantity -}}
{{- $units := dict "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- if not (hasKey $units $unit) -}}
{{- fail (printf "resources.limits.memory: %q must be a quantity such as 512Mi" $quantity) -}}
{{- end -}}
{{- mulf (trimSuffix $unit $quantity | float64) (get $units $unit) | int64 -}}
{{- end -}}

{{/* What the Go runtime is told about the container's limits. */}}
{{- define "millrace.runtimeEnv" -}}
{{- $limits := default (dict) .resources.limits -}}
{{- with $limits.memory }}
{{- $bytes := include "millrace.bytes" . | int64 }}
{{- if and (eq $.container "standalone") (not (dig "clickhouse" "addr" "" $.root.Values.config)) }}
{{- /* The embedded ClickHouse is a process of its own, and takes half of what there is, and 4 GiB at most. */}}
{{- $bytes = sub $bytes (min (div $bytes 2) 4294967296) }}
{{- end }}
- name: GOMEMLIMIT
  value: {{ div (mul $bytes $.root.Values.goMemoryPercent) 100 | quote }}
{{- end }}
{{- if $limits.cpu }}
- name: GOMAXPROCS
  valueFrom:
    resourceFieldRef:
      containerName: {{ .container }}
      resource: limits.cpu
      divisor: "1"
{{- end }}
{{- end -}}

{{/* The variables of a container: root, component, values, and optionally env. Of what the chart says, one that extraEnv
has too is left out, since Kubernetes merges the list by name, and what the component does not use. */}}
{{- define "millrace.env" -}}
{{- $over := dict }}
{{- range .values.extraEnv }}
{{- $_ := set $over .name true }}
{{- end }}
{{- $unused := include "millrace.unused" . }}
{{- $all := include "millrace.runtimeEnv" (dict "root" .root "resources" .values.resources "container" .component) | fromYamlArray }}
{{- range concat $all (include "millrace.settingsEnv" .root | fromYamlArray) (include "millrace.secretEnv" .root | fromYamlArray) (default (list) .env) }}
{{- if not (or (hasKey $over .name) (regexMatch $unused .name)) }}
{{- if hasKey . "value" }}
- {name: {{ .name }}, value: {{ .value | quote }}}
{{- else }}
{{ toYaml (list .) }}
{{- end }}
{{- end }}
{{- end }}
{{- with .values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "millrace.podMetadata" -}}
labels:
  {{- include "millrace.labels" (dict "root" .root "component" .component "labels" .values.podLabels) | nindent 2 }}
{{- $annotations := merge (dict) .values.podAnnotations .root.Values.commonAnnotations }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where pods run and as whom; root, values and component. */}}
{{- define "millrace.placement" -}}
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  {{- toYaml .root.Values.podSecurityContext | nindent 2 }}
enableServiceLinks: false
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end -}}

{{- define "millrace.spread" -}}
topologySpreadConstraints:
{{- if .values.topologySpreadConstraints }}
  {{- toYaml .values.topologySpreadConstraints | nindent 2 }}
{{- else }}
  {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ . }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "millrace.selector" $ | nindent 8 }}
    matchLabelKeys: [{{ ternary "controller-revision-hash" "pod-template-hash" (eq $.component "sink") }}]
  {{- end }}
{{- end }}
{{- end -}}

{{/* The probes of a daemon, on its admin port. */}}
{{- define "millrace.probes" -}}
startupProbe:
  httpGet: {path: /livez, port: admin}
  periodSeconds: 2
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: admin}
  periodSeconds: 3
  timeoutSeconds: 5
  failureThreshold: 2
livenessProbe:
  httpGet: {path: /livez, port: admin}
  periodSeconds: 10
  timeoutSeconds: 5
  failureThreshold: 6
{{- end -}}

{{/* The pod of a daemon: root, component, program, values, ports, and optionally env, mounts and volumes. */}}
{{- define "millrace.daemon" -}}
serviceAccountName: {{ include "millrace.serviceAccount" .root }}
automountServiceAccountToken: false
{{ include "millrace.placement" . }}
{{ include "millrace.spread" . }}
terminationGracePeriodSeconds: {{ include "millrace.gracePeriod" .root }}
containers:
  - name: {{ .component }}
    image: {{ include "millrace.image" (dict "root" .root "image" .root.Values.image) }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    command: [/usr/local/bin/{{ .program }}]
    env:
      {{- include "millrace.env" . | nindent 6 }}
    ports:
      {{- range $name, $port := .ports }}
      - {name: {{ $name }}, containerPort: {{ $port }}, protocol: TCP}
      {{- end }}
    {{- include "millrace.probes" . | nindent 4 }}
    lifecycle:
      preStop:
        sleep: {seconds: {{ .root.Values.preStopSeconds }}}
    resources:
      {{- toYaml .values.resources | nindent 6 }}
    securityContext:
      {{- toYaml .root.Values.securityContext | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- include "millrace.fileMounts" . | nindent 6 }}
      {{- with .mounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
      {{- with .values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
volumes:
  - name: tmp
    emptyDir: {}
  {{- include "millrace.fileVolumes" . | nindent 2 }}
  {{- with .values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end -}}

{{/* The replicas of what an autoscaler scales: root, component, kind and least. An upgrade writes how many there are,
since Kubernetes makes one of a number that stood in the release before and does not in this one. Nothing where there is
none yet, nor where no cluster is asked. */}}
{{- define "millrace.liveReplicas" -}}
{{- with lookup "apps/v1" .kind .root.Release.Namespace (include "millrace.component" .) -}}
replicas: {{ max $.least .spec.replicas }}
{{- end -}}
{{- end -}}
