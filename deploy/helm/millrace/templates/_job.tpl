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
      serviceAccountName: {{ .account }}
      automountServiceAccountToken: {{ default false .token }}
      {{- include "millrace.placement" $this | nindent 6 }}
      {{- /* A container that is started again takes the log of its failure along with its pod when the job gives up. */}}
      restartPolicy: Never
      containers:
        - name: {{ .component }}
          image: {{ include "millrace.image" (dict "root" .root "image" .root.Values.image) }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          terminationMessagePolicy: FallbackToLogsOnError
          command: [/usr/local/bin/millrace]
          args:
            {{- toYaml .args | nindent 12 }}
          env:
            {{- include "millrace.runtimeEnv" (dict "root" .root "resources" $jobs.resources "container" .component) | nindent 12 }}
            {{- include "millrace.settingsEnv" (dict "root" .root "over" $jobs.extraEnv) | nindent 12 }}
            {{- include "millrace.secretEnv" .root | nindent 12 }}
            {{- with $jobs.extraEnv }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
          resources:
            {{- toYaml $jobs.resources | nindent 12 }}
          securityContext:
            {{- toYaml .root.Values.securityContext | nindent 12 }}
          volumeMounts:
            - {name: tmp, mountPath: /tmp}
            {{- include "millrace.fileMounts" .root | nindent 12 }}
            {{- with $jobs.extraVolumeMounts }}
            {{- toYaml . | nindent 12 }}
            {{- end }}
      volumes:
        - name: tmp
          emptyDir: {}
        {{- include "millrace.fileVolumes" .root | nindent 8 }}
        {{- with $jobs.extraVolumes }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
{{- end -}}

{{/* How long a job waits for servers: half of its deadline at most, so that an attempt ends by itself and its log
stays, for Kubernetes deletes the pod that runs at the deadline. */}}
{{- define "millrace.jobWait" -}}
{{- printf "%ds" (min 120 (div .Values.jobs.activeDeadlineSeconds 2)) -}}
{{- end -}}

{{/* The account of the jobs that run before the release's own is made. */}}
{{- define "millrace.hookAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{- include "millrace.component" (dict "root" . "component" "hooks") -}}
{{- else -}}
{{- include "millrace.serviceAccount" . -}}
{{- end -}}
{{- end -}}
