#include "host/home_settings.h"

#include <gtest/gtest.h>

namespace cordon {
namespace {

TEST(CopiedNpmrc, HasRegistriesAndNoTokens) {
  EXPECT_EQ(copied_npmrc("; comment\nregistry = https://npm.example/\n"
                         "@corp:registry=https://npm.corp.example/path/\n"
                         "//npm.corp.example/:_authToken=hunter2\n_auth=hunter2\n"
                         "proxy=http://me:hunter2@proxy.example:3128\nnode-options=--require=/x\n"
                         "@odd:registry=https://npm.example/?token=hunter2\n"
                         "noproxy=${HOSTS}\nsave-exact=true\r\nregistry\n"
                         "[section]\nregistry=https://other.example/\n"),
            "registry=https://npm.example/\n@corp:registry=https://npm.corp.example/path/\n"
            "save-exact=true\n");
  EXPECT_EQ(copied_npmrc("hunter2\n"), "");
}

TEST(CopiedPipConf, KeepsWhatEachAddressAllows) {
  EXPECT_EQ(copied_pip_conf("[global]\nindex-url = https://pypi.example/simple\n"
                            "extra-index-url = https://me:hunter2@corp.example/simple\n"
                            "    https://open.example/a\n    # comment\n\thttps://open.example/b\n"
                            "cert = /etc/ca.pem\n    /etc/more\ntimeout=60\n"
                            "[install]\ntrusted_host : colon\ntrusted_host = pypi.example\n"
                            "find-links = /x\n"),
            "[global]\nindex-url = https://pypi.example/simple\n"
            "extra-index-url = https://open.example/a\n    https://open.example/b\ntimeout = 60\n"
            "[install]\ntrusted-host = pypi.example\n");
  // Of a key whose every value has a login nothing is left, and no empty one that would be used.
  EXPECT_EQ(copied_pip_conf("[global]\nindex-url = https://u:p@h/\n"), "");
  EXPECT_EQ(copied_pip_conf("index-url = https://h/\n"), "");
}

}  // namespace
}  // namespace cordon
