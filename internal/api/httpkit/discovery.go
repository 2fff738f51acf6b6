package httpkit

import "encoding/json"

// ResourceMetadataPath is where RFC 9728 has a host say which credentials it takes.
const ResourceMetadataPath = "/.well-known/oauth-protected-resource"

// ResourceMetadata returns the document of RFC 9728 about a resource: the host itself, with an empty
// path, or one of its routes. It is served at ResourceMetadataPath followed by path, and every response
// with 401 names it. It lists no authorization server, because people create API keys. documentation
// is a path of the host.
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

// challenge returns the WWW-Authenticate header of RFC 9728, which names the metadata document of a
// resource. The address is the host's public one, because a caller can send any Host header. path is
// the resource's, as in ResourceMetadata.
func challenge(public, path string) string {
	if public == "" {
		return "Bearer"
	}
	return `Bearer resource_metadata="` + public + ResourceMetadataPath + path + `"`
}
