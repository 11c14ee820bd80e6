//go:build bivouac_wheel

package s3

import (
	"cmp"
	"context"
	"errors"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"

	"github.com/bivouac-ml/bivouac/errs"
)

// configuration looks for region, endpoint and credentials in the environment and in the shared
// files. The command in the wheel has a bound for its size, and the clients of SSO, of roles and of
// the metadata of machines do not fit.
func configuration(ctx context.Context, client aws.HTTPClient, region string) (aws.Config, error) {
	env, err := config.NewEnvConfig()
	if err != nil {
		return aws.Config{}, err
	}
	profile := cmp.Or(env.SharedConfigProfile, config.DefaultSharedConfigProfile)
	shared, err := config.LoadSharedConfigProfile(ctx, profile, func(o *config.LoadSharedConfigOptions) {
		if env.SharedConfigFile != "" {
			o.ConfigFiles = []string{env.SharedConfigFile}
		}
		if env.SharedCredentialsFile != "" {
			o.CredentialsFiles = []string{env.SharedCredentialsFile}
		}
	})
	var none config.SharedConfigProfileNotExistError
	if err != nil && (env.SharedConfigProfile != "" || !errors.As(err, &none)) {
		return aws.Config{}, err
	}
	cfg := aws.Config{Region: cmp.Or(region, env.Region, shared.Region), HTTPClient: client,
		ConfigSources: []any{env, shared}}
	if base := cmp.Or(env.BaseEndpoint, shared.BaseEndpoint); base != "" {
		cfg.BaseEndpoint = &base
	}
	var under aws.CredentialsProvider
	switch {
	case env.Credentials.HasKeys():
		under = credentials.StaticCredentialsProvider{Value: env.Credentials}
	case shared.Credentials.HasKeys() && shared.RoleARN == "":
		under = credentials.StaticCredentialsProvider{Value: shared.Credentials}
	case shared.CredentialProcess != "" && shared.RoleARN == "":
		under = processcreds.NewProvider(shared.CredentialProcess)
	default:
		under = elsewhere{}
	}
	cfg.Credentials = aws.NewCredentialsCache(under)
	return cfg, nil
}

// elsewhere are credentials that only the whole search finds.
type elsewhere struct{}

// Retrieve implements aws.CredentialsProvider.
func (elsewhere) Retrieve(context.Context) (aws.Credentials, error) {
	got := "none in the environment and in the shared files"
	for _, name := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"} {
		if os.Getenv(name) != "" {
			got = name + ", which the command in the wheel does not know"
		}
	}
	return aws.Credentials{}, &errs.Error{Kind: errs.Permission, Op: opOpen, Want: "credentials", Got: got,
		Remedy: "set credential_process = aws configure export-credentials --format process in the profile, " +
			"or BIVOUAC_BINARY to a command that was built whole (go install)"}
}
