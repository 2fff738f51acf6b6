{{/* A job: root, component, args, and optionally hook, weight, account, mountToken. */}}
{{- define "millrace.job" -}}
{{- $jobs := .root.Values.jobs }}
{{- $this := merge (dict "values" $jobs) . }}
apiVersion: batch/v1
kind: Job
metadata:
  {{- $hook := dict "helm.sh/hook" .hook "helm.sh/hook-weight" (toString .weight) "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" }}
  {{- include "millrace.metadata" (merge (dict "annotations" $hook) $this) | nindent 2 }}
spec:
  backoffLimit: {{ $jobs.backoffLimit }}
  activeDeadlineSeconds: {{ $jobs.activeDeadlineSeconds }}
  template:
    metadata:
      {{- include "millrace.podMetadata" $this | nindent 6 }}
    spec:
      {{- /* A container that is started again takes the log of its failure along with its pod when the job gives up. */}}
      {{- include "millrace.command" (merge (dict "restartPolicy" "Never") $this) | nindent 6 }}
{{- end -}}

{{/* The pod of a command of millrace: root, component, args, values, account, restartPolicy, and optionally token. */}}
{{- define "millrace.command" -}}
serviceAccountName: {{ .account }}
automountServiceAccountToken: {{ default false .token }}
{{ include "millrace.placement" . }}
restartPolicy: {{ .restartPolicy }}
containers:
  - name: {{ .component }}
    image: {{ include "millrace.image" (dict "root" .root "image" .root.Values.image) }}
    imagePullPolicy: {{ .root.Values.image.pullPolicy }}
    terminationMessagePolicy: FallbackToLogsOnError
    command: [/usr/local/bin/millrace]
    args:
      {{- toYaml .args | nindent 6 }}
    env:
      {{- include "millrace.env" . | nindent 6 }}
    resources:
      {{- toYaml .values.resources | nindent 6 }}
    securityContext:
      {{- toYaml .root.Values.securityContext | nindent 6 }}
    volumeMounts:
      - {name: tmp, mountPath: /tmp}
      {{- include "millrace.fileMounts" . | nindent 6 }}
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

{{/* How long a job waits for servers: half of its deadline at most, so that an attempt ends by itself and its log
stays, for Kubernetes deletes the pod that runs at the deadline. */}}
{{- define "millrace.jobWait" -}}
{{- printf "%ds" (min 120 (div .Values.jobs.activeDeadlineSeconds 2)) -}}
{{- end -}}

{{/* How long a job works all in all: up to shortly before its deadline, for the same reason. */}}
{{- define "millrace.jobTimeout" -}}
{{- printf "%ds" (sub .Values.jobs.activeDeadlineSeconds (max 5 (div .Values.jobs.activeDeadlineSeconds 8))) -}}
{{- end -}}

{{/* The account of the jobs that run before the release's own is made. */}}
{{- define "millrace.hookAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- include "millrace.component" (dict "root" . "component" "hooks") -}}
{{- else -}}
{{- include "millrace.serviceAccount" . -}}
{{- end -}}
{{- end -}}
