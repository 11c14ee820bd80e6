//go:build !bivouac_wheel

package s3

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go/logging"
)

// configuration looks for region, endpoint and credentials as all tools of AWS do.
func configuration(ctx context.Context, client aws.HTTPClient, region string) (aws.Config, error) {
	load := []func(*config.LoadOptions) error{config.WithLogger(logging.Nop{}), config.WithHTTPClient(client)}
	if region != "" {
		load = append(load, config.WithRegion(region))
	}
	return config.LoadDefaultConfig(ctx, load...)
}
