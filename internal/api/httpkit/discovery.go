package httpkit

import "encoding/json"

// ResourceMetadataPath is where RFC 9728 has a host say which credentials it takes.
const ResourceMetadataPath = "/.well-known/oauth-protected-resource"

// ResourceMetadata is the document at ResourceMetadataPath of a resource of the host: the host itself,
// or the path of one, which is then inserted behind ResourceMetadataPath. Every response with 401
// names it. It names no authorization server: API keys are made by people. Documentation is a path of
// the host.
func (s *Site) ResourceMetadata(path string, scopes []string, documentation string) []byte {
	text, _ := json.Marshal(struct { // of texts
		Resource      string   `json:"resource"`
		Name          string   `json:"resource_name"`
		Documentation string   `json:"resource_documentation"`
		Methods       []string `json:"bearer_methods_supported"`
		Scopes        []string `json:"scopes_supported"`
	}{s.PublicURL + path, "Millrace", s.PublicURL + documentation, []string{"header"}, scopes})
	return text
}

// challenge is the WWW-Authenticate header of RFC 9728: it names that document, on the host's
// public address. What the request says of the host that was asked is its caller's word, and
// stands in no address. path is that of the resource, empty for the host.
func challenge(public, path string) string {
	if public == "" {
		return "Bearer"
	}
	return `Bearer resource_metadata="` + public + ResourceMetadataPath + path + `"`
}
