{{- define "cornerwave.labels" -}}
app.kubernetes.io/name: cornerwave
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "cornerwave.selector" -}}
app.kubernetes.io/name: cornerwave
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "cornerwave.env" -}}
- {name: CORNERWAVE_BLOB_URL, value: {{ required "blobs.url is required, as s3://bucket/prefix" .Values.blobs.url | quote }}}
- {name: CORNERWAVE_MASTER_KEY_FILE, value: /run/secrets/cornerwave/master-key}
- {name: CORNERWAVE_ADMIN_KEY_FILE, value: /run/secrets/cornerwave/admin-key}
- {name: CORNERWAVE_DATABASE_URL_FILE, value: /run/secrets/cornerwave/database-url}
- {name: CORNERWAVE_DRAIN_SECONDS, value: {{ .Values.drainSeconds | quote }}}
{{- if .Values.redis.enabled }}
- {name: CORNERWAVE_REDIS_URL_FILE, value: /run/secrets/cornerwave/redis-url}
{{- end }}
{{- with .Values.publicUrl }}
- {name: CORNERWAVE_PUBLIC_URL, value: {{ . | quote }}}
{{- end }}
{{- with .Values.oidc }}
{{- if .issuer }}
- {name: CORNERWAVE_OIDC_ISSUER, value: {{ .issuer | quote }}}
- {name: CORNERWAVE_OIDC_CLIENT_ID, value: {{ required "oidc.clientId is required with oidc.issuer" .clientId | quote }}}
- {name: CORNERWAVE_OIDC_CLIENT_SECRET_FILE, value: /run/secrets/cornerwave/oidc-client-secret}
- {name: CORNERWAVE_OIDC_ROLE_CLAIM, value: {{ .roleClaim | quote }}}
- {name: CORNERWAVE_OIDC_ROLES, value: {{ required "oidc.roles is required with oidc.issuer" .roles | quote }}}
{{- end }}
{{- end }}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}

{{/* A pod: (dict "root" $ "command" list "env" list "resources" dict "serves" bool). */}}
{{- define "cornerwave.pod" -}}
{{- $root := .root -}}
serviceAccountName: {{ $root.Release.Name }}
automountServiceAccountToken: false
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
# Longer than CORNERWAVE_DRAIN_SECONDS: downloads in progress end first.
terminationGracePeriodSeconds: {{ add $root.Values.drainSeconds 30 }}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
containers:
  - name: cornerwave
    image: "{{ $root.Values.image.repository }}:{{ $root.Values.image.tag | default $root.Chart.AppVersion }}"
    imagePullPolicy: {{ $root.Values.image.pullPolicy }}
    command: {{ toJson .command }}
    env:
      {{- include "cornerwave.env" $root | nindent 6 }}
      {{- range .env }}
      - {{ toJson . }}
      {{- end }}
    {{- with $root.Values.blobs.credentialsSecret }}
    envFrom:
      - secretRef: {name: {{ . }}}
    {{- end }}
    volumeMounts:
      - {name: secrets, mountPath: /run/secrets/cornerwave, readOnly: true}
      - {name: home, mountPath: /var/lib/cornerwave}
      - {name: tmp, mountPath: /tmp}
      {{- if .claim }}
      - {name: backup, mountPath: /backup}
      {{- end }}
    {{- if .serves }}
    ports:
      - {name: http, containerPort: 8000}
    startupProbe:
      httpGet: {path: /health, port: http}
      periodSeconds: 2
      failureThreshold: 60
    livenessProbe:
      httpGet: {path: /health, port: http}
      periodSeconds: 10
      timeoutSeconds: 5
      failureThreshold: 6
    readinessProbe:
      httpGet: {path: /ready, port: http}
      periodSeconds: 5
      timeoutSeconds: 5
    {{- end }}
    resources: {{ toJson .resources }}
    securityContext:
      allowPrivilegeEscalation: false
      readOnlyRootFilesystem: true
      capabilities: {drop: [ALL]}
volumes:
  - name: secrets
    secret: {secretName: {{ $root.Values.secret }}, defaultMode: 0440}
  - name: home
    emptyDir: {sizeLimit: {{ $root.Values.spool.sizeLimit }}}
  - name: tmp
    emptyDir: {}
  {{- if .claim }}
  - name: backup
    persistentVolumeClaim: {claimName: {{ .claim }}}
  {{- end }}
{{- end }}
