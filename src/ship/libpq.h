// libpq, PostgreSQL's client library, loaded when it is needed: whoever ships no audit log needs
// none, and neither does the package. Its functions are declared here as it documents them, so that
// nothing of it is needed to build.
#pragma once

#include "base/result.h"

namespace cordon::ship {

struct PgConnection;
struct PgResult;

// One keyword of a connection, as PQconninfoParse answers it.
struct PgSetting {
  char* keyword;
  char* environment;
  char* compiled;
  char* value;
  char* label;
  char* display;
  int size;
};

// Values of enumerations that libpq will not change: they are a part of its interface.
inline constexpr int kConnectionOk = 0;
inline constexpr int kPollingFailed = 0;
inline constexpr int kPollingReading = 1;
inline constexpr int kPollingWriting = 2;
inline constexpr int kPollingOk = 3;
inline constexpr int kResultCommand = 1;
inline constexpr int kResultTuples = 2;
inline constexpr int kFieldSqlState = 'C';
inline constexpr int kFieldMessage = 'M';

struct Libpq {
  PgSetting* (*parse)(const char* text, char** error);
  void (*free_settings)(PgSetting*);
  void (*free_memory)(void*);
  PgConnection* (*connect)(const char* const* keywords, const char* const* values, int expand);
  int (*connect_poll)(PgConnection*);
  int (*status)(const PgConnection*);
  int (*socket)(const PgConnection*);
  int (*ssl_in_use)(PgConnection*);
  char* (*error_message)(const PgConnection*);
  void (*finish)(PgConnection*);
  void* (*set_notices)(PgConnection*, void (*)(void*, const char*), void*);
  int (*set_nonblocking)(PgConnection*, int);
  int (*send)(PgConnection*, const char* command, int count, const unsigned* types,
              const char* const* values, const int* lengths, const int* formats, int answer_format);
  int (*flush)(PgConnection*);
  int (*consume)(PgConnection*);
  int (*is_busy)(PgConnection*);
  PgResult* (*result)(PgConnection*);
  void (*clear)(PgResult*);
  int (*result_status)(const PgResult*);
  char* (*result_field)(const PgResult*, int);
  char* (*result_command)(PgResult*);
  int (*rows)(const PgResult*);
  int (*is_null)(const PgResult*, int row, int column);
  int (*length)(const PgResult*, int row, int column);
  char* (*value)(const PgResult*, int row, int column);
};

// Loads it, once. An error names the package that has it.
Result<const Libpq*> load_libpq();

}  // namespace cordon::ship
