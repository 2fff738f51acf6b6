{{/* What things are called. A component is edge, sink, query, standalone, or a job's name. */}}

{{- define "millrace.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The beginning of all names: short enough for what is added to it. */}}
{{- define "millrace.fullname" -}}
{{- $name := include "millrace.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "millrace.component" -}}
{{- printf "%s-%s" (include "millrace.fullname" .root) .component -}}
{{- end -}}

{{- define "millrace.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "millrace.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- required "serviceAccount.name must be set when serviceAccount.create is false" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "millrace.firstAccount" -}}
{{- default (printf "%s-first-account" (include "millrace.fullname" .)) .Values.jobs.bootstrap.secretName -}}
{{- end -}}

{{/* What selects the pods of a component: never changed, since selectors cannot be. */}}
{{- define "millrace.selector" -}}
app.kubernetes.io/name: {{ include "millrace.name" .root | quote }}
app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{/* The labels of an object: root, component, and optionally labels. These win over commonLabels, which win over what the
chart says; what selects, and what Helm knows its own by, stays. Each stands once: tools that read strictly, such as
kustomize, take no key twice. */}}
{{- define "millrace.labels" -}}
{{- $fixed := merge (include "millrace.selector" . | fromYaml) (dict "app.kubernetes.io/managed-by" .root.Release.Service) }}
{{- $chart := dict "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/part-of" "millrace" }}
{{- $_ := set $chart "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_") }}
{{- merge $fixed (default (dict) .labels) .root.Values.commonLabels $chart | toYaml }}
{{- end -}}

{{/* The metadata of an object: root, component, and optionally name, labels and annotations. */}}
{{- define "millrace.metadata" -}}
name: {{ default (include "millrace.component" .) .name }}
namespace: {{ .root.Release.Namespace }}
labels:
  {{- include "millrace.labels" . | nindent 2 }}
{{- $annotations := merge (dict) (default (dict) .annotations) .root.Values.commonAnnotations }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
