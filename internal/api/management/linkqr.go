package management

import (
	"context"
	"encoding/base64"

	"github.com/millrace/millrace/internal/api/rpc"
	"github.com/millrace/millrace/internal/contract/apierr"
	"github.com/millrace/millrace/internal/resource/link"
	"github.com/millrace/millrace/internal/resource/link/qrcode"
)

type qrInput struct {
	rpc.InOrganization
	rpc.ID

	Format string `json:"format,omitempty" enum:"svg,png" default:"svg"`
	Size   int    `json:"size,omitempty" minimum:"64" maximum:"2048" default:"512" doc:"Width and height in pixels. A PNG needs at least one pixel for each module of the code and its margin; long URLs need more."`
}

type qrBody struct {
	MediaType string `json:"mediaType" enum:"image/svg+xml,image/png"`
	Base64    string `json:"base64" doc:"Image data."`
	URL       string `json:"url" doc:"URL encoded in the QR code: shortUrl with qr=1, which marks visits from the code."`
}

func (s *Links) qr(ctx context.Context, call *rpc.Call, in *qrInput) (*qrBody, error) {
	l, err := s.Service.Get(ctx, link.Ref{OrganizationID: call.OrganizationID(), ID: in.ID.ID})
	if err != nil {
		return nil, err
	}
	url := s.Service.Rules().QRURL(l)
	if url == "" {
		return nil, &apierr.Error{Code: apierr.Conflict, Message: "This installation has no short-link host"}
	}
	code, err := qrcode.New(url)
	if err != nil {
		return nil, err
	}
	size := in.Size
	if size == 0 {
		size = qrcode.DefaultSize
	}
	body, picture := &qrBody{MediaType: "image/svg+xml", URL: url}, []byte(nil)
	if in.Format == "png" {
		body.MediaType = "image/png"
		picture, err = code.PNG(size)
	} else {
		picture = code.SVG(size)
	}
	if err != nil {
		return nil, err
	}
	body.Base64 = base64.StdEncoding.EncodeToString(picture)
	return body, nil
}
