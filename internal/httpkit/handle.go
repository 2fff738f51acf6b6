package httpkit

import "github.com/gofiber/fiber/v2"

// Handle adds a route to an app. What can be got can be asked for with HEAD too:
// the answer is the same, without its body.
func Handle(app *fiber.App, method, path string, handler fiber.Handler) {
	app.Add(method, path, handler)
	if method == fiber.MethodGet {
		app.Add(fiber.MethodHead, path, handler)
	}
}
