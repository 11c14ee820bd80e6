package s3

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// suffixes of the names of AWS, by the beginning of a region.
var suffixes = []struct{ region, suffix string }{
	{"cn-", "amazonaws.com.cn"}, {"us-iso-", "c2s.ic.gov"}, {"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"}, {"eusc-", "amazonaws.eu"}, {"", "amazonaws.com"},
}

// awsEndpoint is the endpoint of AWS in a region.
func awsEndpoint(region string, dualStack, fips bool) string {
	host := "s3"
	if fips {
		host += "-fips"
	}
	if dualStack {
		host += ".dualstack"
	}
	for _, s := range suffixes {
		if strings.HasPrefix(region, s.region) {
			return "https://" + host + "." + region + "." + s.suffix
		}
	}
	return "" // the last prefix fits all
}

// place returns the URL of the bucket. A name that no certificate of "*.host" covers goes into the
// path.
func (t *target) place(endpoint string, pathStyle bool) (*url.URL, error) {
	u, err := url.Parse(strings.TrimRight(endpoint, "/"))
	if err != nil {
		return nil, t.invalid("an endpoint like http://127.0.0.1:7070", "an endpoint that does not parse")
	}
	if pathStyle || strings.Trim(t.bucket, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
		u.Path += "/" + t.bucket
	} else {
		u.Host = t.bucket + "." + u.Host
	}
	u.RawPath = ""
	return u, nil
}

// settings are what the environment and the shared config file say of S3, beside region and
// credentials.
type settings struct {
	endpoint        string
	dualStack, fips bool
}

// serviceID is the name of S3 in the shared config file.
const serviceID = "S3"

// settingsOf asks the sources of a configuration. The first that knows an answer gives it.
func settingsOf(ctx context.Context, cfg aws.Config) (settings, error) {
	var s settings
	var ignore, ignoreSaid, endpointSaid, dualSaid, fipsSaid bool
	var all []error
	for _, source := range cfg.ConfigSources {
		if p, ok := source.(interface {
			GetIgnoreConfiguredEndpoints(context.Context) (bool, bool, error)
		}); ok && !ignoreSaid {
			var err error
			ignore, ignoreSaid, err = p.GetIgnoreConfiguredEndpoints(ctx)
			all = append(all, err)
		}
		if p, ok := source.(interface {
			GetServiceBaseEndpoint(context.Context, string) (string, bool, error)
		}); ok && !endpointSaid {
			var err error
			s.endpoint, endpointSaid, err = p.GetServiceBaseEndpoint(ctx, serviceID)
			all = append(all, err)
		}
		if p, ok := source.(interface {
			GetUseDualStackEndpoint(context.Context) (aws.DualStackEndpointState, bool, error)
		}); ok && !dualSaid {
			v, said, err := p.GetUseDualStackEndpoint(ctx)
			s.dualStack, dualSaid = v == aws.DualStackEndpointStateEnabled, said
			all = append(all, err)
		}
		if p, ok := source.(interface {
			GetUseFIPSEndpoint(context.Context) (aws.FIPSEndpointState, bool, error)
		}); ok && !fipsSaid {
			v, said, err := p.GetUseFIPSEndpoint(ctx)
			s.fips, fipsSaid = v == aws.FIPSEndpointStateEnabled, said
			all = append(all, err)
		}
	}
	if !endpointSaid && cfg.BaseEndpoint != nil {
		s.endpoint = *cfg.BaseEndpoint
	}
	if ignore {
		s.endpoint = ""
	}
	return s, errors.Join(all...)
}
