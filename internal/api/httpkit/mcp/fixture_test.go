//nolint:staticcheck // the suite also requires features that later revisions deprecate
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolProgress is the fixture's tool that reports its progress.
const toolProgress = "test_tool_with_progress"

// newFixture returns a server with the tools, prompts and resources that the scenarios of the
// conformance suite name.
func newFixture() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "fixture", Version: "1"}, &mcp.ServerOptions{
		Logger: slog.New(slog.DiscardHandler), SetCacheable: cacheable,
		CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
			return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{}}}, nil
		},
		SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
		UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
	})
	for name, handler := range fixtureTools(s) {
		schema := json.RawMessage(cmp.Or(fixtureSchemas[name], object))
		s.AddTool(&mcp.Tool{Name: name, Description: "Fixture", InputSchema: schema}, handler)
	}
	for name, p := range fixturePrompts {
		prompt := &mcp.Prompt{Name: name, Description: "Fixture"}
		for _, argument := range p.arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: argument, Required: true})
		}
		s.AddPrompt(prompt, p.handler)
	}
	for _, uri := range []string{"test://static-text", "test://static-binary", "test://watched-resource"} {
		s.AddResource(&mcp.Resource{URI: uri, Name: uri, Description: "Fixture"}, readFixture)
	}
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template"}, readFixture)
	return s
}

func textContent(text string) mcp.Content { return &mcp.TextContent{Text: text} }

// Contents of the other kinds. The suite checks that they have data, not that it is an image.
var (
	picture = &mcp.ImageContent{Data: []byte("image"), MIMEType: "image/png"}
	sound   = &mcp.AudioContent{Data: []byte("sound"), MIMEType: "audio/wav"}
)

func embedded(uri string) mcp.Content {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: "text/plain", Text: "Embedded"}}
}

func fixtureTools(s *mcp.Server) map[string]mcp.ToolHandler {
	returns := func(content ...mcp.Content) mcp.ToolHandler {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: content}, nil
		}
	}
	after := func(act func(context.Context, *mcp.CallToolRequest) error) mcp.ToolHandler {
		return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{textContent("Done")}}, act(ctx, r)
		}
	}
	logs := after(func(ctx context.Context, r *mcp.CallToolRequest) (err error) {
		for i := 0; i < 3 && err == nil; i++ {
			err = r.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "Step " + strconv.Itoa(i)})
		}
		return err
	})
	return map[string]mcp.ToolHandler{
		"test_simple_text":            returns(textContent("Text")),
		"test_image_content":          returns(picture),
		"test_audio_content":          returns(sound),
		"test_embedded_resource":      returns(embedded("test://embedded")),
		"test_multiple_content_types": returns(textContent("Text"), picture, embedded("test://embedded")),
		"test_streaming_elicitation":  returns(textContent("Text")),
		"json_schema_2020_12_tool":    returns(textContent("Text")),
		"test_x_mcp_header":           returns(textContent("Text")),
		"test_tool_with_logging":      logs,
		"test_logging_tool":           logs,
		"test_error_handling": func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{textContent("Failed")}}, nil
		},
		toolProgress: after(func(ctx context.Context, r *mcp.CallToolRequest) (err error) {
			for done := 0.0; done <= 100 && err == nil; done += 50 {
				err = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
					ProgressToken: r.Params.GetProgressToken(), Progress: done, Total: 100,
				})
			}
			return err
		}),
		"test_missing_capability": after(func(_ context.Context, r *mcp.CallToolRequest) error {
			if r.ClientCapabilities().Sampling != nil {
				return nil
			}
			return &jsonrpc.Error{
				Code: mcp.CodeMissingRequiredClientCapabilities, Message: "sampling is required",
				Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
			}
		}),
		"test_trigger_tool_change": after(func(context.Context, *mcp.CallToolRequest) error {
			s.AddTool(&mcp.Tool{Name: "added", Description: "Fixture", InputSchema: json.RawMessage(object)}, logs)
			return nil
		}),
		"test_trigger_prompt_change": after(func(context.Context, *mcp.CallToolRequest) error {
			s.AddPrompt(&mcp.Prompt{Name: "added", Description: "Fixture"}, newPrompt(textContent("Text")).handler)
			return nil
		}),
		"test_sampling":                              requestInput(inputs{"answer": sample}),
		"test_elicitation":                           requestInput(inputs{"user": nameForm}),
		"test_elicitation_sep1034_defaults":          requestInput(inputs{"defaults": defaultsForm}),
		"test_elicitation_sep1330_enums":             requestInput(inputs{"enums": enumsForm}),
		"test_input_required_result_elicitation":     requestInput(inputs{"user_name": nameForm}),
		"test_input_required_result_sampling":        requestInput(inputs{"answer": sample}),
		"test_input_required_result_list_roots":      requestInput(inputs{"roots": roots}),
		"test_input_required_result_request_state":   requestInput(inputs{"confirm": nameForm}),
		"test_input_required_result_tampered_state":  requestInput(inputs{"confirm": nameForm}),
		"test_input_required_result_multiple_inputs": requestInput(inputs{"name": nameForm, "answer": sample, "roots": roots}),
		"test_input_required_result_multi_round":     requestInput(inputs{"step1": nameForm}, inputs{"step2": nameForm}),
		"test_input_required_result_capabilities":    requestInput(inputs{"name": nameForm, "answer": sample}),
	}
}

// inputs are what a tool requests from a client, by names of the tool.
type inputs = mcp.InputRequestMap

var (
	sample = &mcp.CreateMessageParams{
		MaxTokens: 100, Messages: []*mcp.SamplingMessage{{Role: "user", Content: textContent("Name a capital")}},
	}
	roots        = &mcp.ListRootsParams{}
	nameForm     = form(`"name":{"type":"string"}`)
	defaultsForm = form(`"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
		"score":{"type":"number","default":95.5},"verified":{"type":"boolean","default":true},
		"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"}`)
	enumsForm = form(`"untitledSingle":{"type":"string","enum":["option1","option2"]},
		"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"One"},{"const":"value2","title":"Two"}]},
		"legacyEnum":{"type":"string","enum":["opt1","opt2"],"enumNames":["One","Two"]},
		"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2"]}},
		"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"One"},{"const":"value2","title":"Two"}]}}`)
)

func form(members string) *mcp.ElicitParams {
	schema := json.RawMessage(`{"type":"object","properties":{` + members + `}}`)
	return &mcp.ElicitParams{Message: "Fill in the form", RequestedSchema: schema}
}

// requestInput returns a tool that requests input from the client in rounds. The state of a call is the number
// of its round.
func requestInput(rounds ...inputs) mcp.ToolHandler {
	return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		round, err := strconv.Atoi(cmp.Or(r.Params.RequestState, "0"))
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not one of this tool"}
		}
		if answered(rounds[round], r.Params.InputResponses) {
			round++
		}
		if round == len(rounds) {
			return &mcp.CallToolResult{Content: []mcp.Content{textContent("state-ok")}}, nil
		}
		open := inputs{}
		for key, input := range rounds[round] {
			if _, form := input.(*mcp.ElicitParams); !form || r.ClientCapabilities().Elicitation != nil {
				open[key] = input
			}
		}
		return &mcp.CallToolResult{InputRequests: open, RequestState: strconv.Itoa(round)}, nil
	}
}

func answered(requested inputs, responses mcp.InputResponseMap) bool {
	for key := range requested {
		if responses[key] == nil {
			return false
		}
	}
	return true
}

// fixtureSchemas are the schemas of arguments that the suite checks.
var fixtureSchemas = map[string]string{
	"test_x_mcp_header": `{"type":"object","properties":{
		"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
	"json_schema_2020_12_tool": `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
		"$defs":{"address":{"$anchor":"address","type":"object"}},
		"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"}},
		"allOf":[{"anyOf":[{"required":["name"]},{"required":["address"]}]}],
		"if":{"required":["name"]},"then":{"required":["name"]},"else":{"required":["address"]},
		"additionalProperties":false}`,
}

type fixturePrompt struct {
	arguments []string
	handler   mcp.PromptHandler
}

// newPrompt returns a prompt whose texts name its arguments.
func newPrompt(content mcp.Content, arguments ...string) fixturePrompt {
	return fixturePrompt{arguments, func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		messages := []*mcp.PromptMessage{{Role: "user", Content: content}}
		for name, value := range r.Params.Arguments {
			messages = append(messages, &mcp.PromptMessage{Role: "user", Content: textContent(name + "=" + value)})
		}
		return &mcp.GetPromptResult{Messages: messages}, nil
	}}
}

var fixturePrompts = map[string]fixturePrompt{
	"test_simple_prompt":                 newPrompt(textContent("Text")),
	"test_prompt_with_arguments":         newPrompt(textContent("Text"), "arg1", "arg2"),
	"test_prompt_with_embedded_resource": newPrompt(embedded("test://embedded"), "resourceUri"),
	"test_prompt_with_image":             newPrompt(picture),
	"test_input_required_result_prompt": {
		handler: func(_ context.Context, r *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			requested := inputs{"user_context": nameForm}
			if !answered(requested, r.Params.InputResponses) {
				return &mcp.GetPromptResult{InputRequests: requested}, nil
			}
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: textContent("Text")}}}, nil
		},
	},
}

// readFixture returns a document that names its URI.
func readFixture(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	contents := &mcp.ResourceContents{URI: r.Params.URI, MIMEType: "text/plain", Text: r.Params.URI}
	if strings.HasSuffix(r.Params.URI, "binary") {
		contents.MIMEType, contents.Text, contents.Blob = picture.MIMEType, "", picture.Data
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
}
