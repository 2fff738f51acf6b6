// Package docs holds the files of the reference page at /docs of the query host.
// It promises that they need nothing from any other host, and no script.
package docs

import "embed"

// Files are page.html.tmpl, a template of html/template, and style.css.
//
//go:embed page.html.tmpl style.css
var Files embed.FS
