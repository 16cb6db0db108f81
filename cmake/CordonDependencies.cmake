# Everything comes from the distribution; nothing is downloaded while building.
find_package(tl-expected REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto SSL)
find_package(SQLite3 REQUIRED)
pkg_check_modules(SECCOMP REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(SODIUM REQUIRED IMPORTED_TARGET libsodium)
# Settings of maven, which are XML.
pkg_check_modules(EXPAT REQUIRED IMPORTED_TARGET expat)

# Debian's toml++ target links a shared library; the headers alone are enough.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/reader.h REQUIRED)

# HTTP of cordon-gate: headers alone, the same for every architecture.
find_path(BOOST_BEAST_INCLUDE_DIR boost/beast/http/basic_parser.hpp REQUIRED)

find_library(CORDON_CRYPTO_STATIC NAMES libcrypto.a)
find_library(CORDON_SSL_STATIC NAMES libssl.a)
find_library(CORDON_SODIUM_STATIC NAMES libsodium.a)
find_library(CORDON_EXPAT_STATIC NAMES libexpat.a)
find_library(CORDON_FMT_STATIC NAMES libfmt.a)
find_library(CORDON_SQLITE_STATIC NAMES libsqlite3.a)

# MCP over HTTP. The static archive names TLS functions that src/faces/mcp/http/no_tls.cc answers.
pkg_check_modules(MICROHTTPD REQUIRED IMPORTED_TARGET libmicrohttpd)
find_library(CORDON_MICROHTTPD_STATIC NAMES libmicrohttpd.a)

# The screen of `cordon loop`.
pkg_check_modules(NCURSES REQUIRED IMPORTED_TARGET ncursesw)
find_library(CORDON_NCURSES_STATIC NAMES libncursesw.a)
find_library(CORDON_TINFO_STATIC NAMES libtinfo.a)
