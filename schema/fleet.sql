-- The audit logs of a fleet in PostgreSQL (14 or later): what `cordon audit ship --schema` prints. An administrator
-- runs it once in a database, and what `cordon audit ship --enroll` prints for each node. docs/fleet.md explains it.
--
-- A node may add records and signed checkpoints of its own and do nothing else: it reads, changes and removes
-- nothing, and writes as nobody else. What is stored is never changed: another record with the number of one that is
-- there is kept beside it, as a fork.
BEGIN;

DO $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'cordon_ship') THEN
    CREATE ROLE cordon_ship NOLOGIN;
  END IF;
  IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'cordon_read') THEN
    CREATE ROLE cordon_read NOLOGIN;
  END IF;
END
$$;

CREATE SCHEMA cordon;
GRANT USAGE ON SCHEMA cordon TO cordon_ship, cordon_read;

-- One node is one audit log: of one account on one host. `login` is the role it logs in as, `public_key` the one its
-- checkpoints are signed with.
CREATE TABLE cordon.nodes (
  node text PRIMARY KEY CHECK (node ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
  login name NOT NULL UNIQUE,
  public_key text NOT NULL CHECK (public_key ~ '^[0-9a-f]{64}$'),
  enrolled timestamptz NOT NULL DEFAULT now()
);

-- `line` is the record as it stands in the log, without its newline; bytes, since what was tampered with may be no
-- text. The other columns repeat what of it is asked for, and `verify` compares them with it.
CREATE TABLE cordon.records (
  node text NOT NULL,
  seq bigint NOT NULL CHECK (seq > 0),
  line bytea NOT NULL CHECK (octet_length(line) < 65536),
  at timestamptz,
  phase text CHECK (phase IN ('pending', 'closing', 'note')),
  pending_seq bigint,
  action text,
  tool text,
  outcome text,
  reason text,
  denials bigint,
  duration_ms bigint,
  received timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node, seq)
);
CREATE INDEX actions_by_time ON cordon.records (at)
  WHERE phase = 'pending' OR (phase = 'closing' AND pending_seq IS NULL);
CREATE INDEX ends_of_actions ON cordon.records (node, pending_seq) WHERE pending_seq IS NOT NULL;

CREATE TABLE cordon.forks (
  node text NOT NULL,
  seq bigint NOT NULL,
  line bytea NOT NULL,
  digest bytea GENERATED ALWAYS AS (sha256(line)) STORED,
  received timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node, seq, digest)
);

CREATE TABLE cordon.checkpoints (
  node text NOT NULL,
  line bytea NOT NULL CHECK (octet_length(line) < 65536),
  digest bytea GENERATED ALWAYS AS (sha256(line)) STORED,
  received timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (node, digest)
);

-- Actions: each by its first record, with the one that ended it.
CREATE VIEW cordon.actions AS
  SELECT f.node, f.seq, f.at AS begun, c.at AS ended,
         coalesce(f.tool, f.action) AS tool,
         coalesce(c.outcome, f.outcome) AS outcome,
         coalesce(c.reason, f.reason) AS reason,
         coalesce(c.denials, f.denials, 0) AS denials,
         coalesce(c.duration_ms, f.duration_ms, 0) AS duration_ms,
         f.line AS begun_line, c.line AS ended_line
  FROM cordon.records f
  LEFT JOIN cordon.records c ON f.phase = 'pending' AND c.node = f.node AND c.pending_seq = f.seq
  WHERE f.phase = 'pending' OR (f.phase = 'closing' AND f.pending_seq IS NULL);

-- Which node the one who asks is: by the login of the session, which SET ROLE does not change.
CREATE FUNCTION cordon.own_node() RETURNS text
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$ SELECT node FROM cordon.nodes WHERE login = session_user $$;

-- The same with the key that is enrolled, and the form of these tables.
CREATE FUNCTION cordon.enrolled() RETURNS TABLE (node text, public_key text, format integer)
  LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$ SELECT n.node, n.public_key, 1 FROM cordon.nodes n WHERE n.login = session_user $$;

-- Two writers of one node wait for each other: neither sees what the other has not committed. The lock is on a row
-- that nobody else can lock, so no node can make another wait.
CREATE FUNCTION cordon.lock_node() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$
BEGIN
  PERFORM n.node FROM cordon.nodes n WHERE n.login = session_user FOR NO KEY UPDATE;
  RETURN NULL;
END
$$;
CREATE TRIGGER lock_node BEFORE INSERT ON cordon.records FOR EACH STATEMENT EXECUTE FUNCTION cordon.lock_node();

-- A record that is stored already is passed over, and another one with its number becomes a fork. Whoever writes as
-- another is refused here, since row security does not look at rows that are passed over.
CREATE FUNCTION cordon.take_record() RETURNS trigger
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp
  AS $$
DECLARE
  who text;
  stored bytea;
BEGIN
  SELECT n.node INTO who FROM cordon.nodes n WHERE n.login = session_user;
  IF who IS DISTINCT FROM NEW.node THEN
    RAISE insufficient_privilege
      USING MESSAGE = format('%s cannot write as the node %s', session_user, NEW.node);
  END IF;
  -- By itself, so that it is always looked up by the primary key: what is planned while the table is empty is kept.
  SELECT r.line INTO stored FROM cordon.records r WHERE r.node = NEW.node AND r.seq = NEW.seq;
  IF NOT FOUND THEN
    RETURN NEW;
  END IF;
  IF stored <> NEW.line THEN
    INSERT INTO cordon.forks (node, seq, line) VALUES (NEW.node, NEW.seq, NEW.line) ON CONFLICT DO NOTHING;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER take_record BEFORE INSERT ON cordon.records FOR EACH ROW EXECUTE FUNCTION cordon.take_record();

ALTER TABLE cordon.nodes ENABLE ROW LEVEL SECURITY;
ALTER TABLE cordon.records ENABLE ROW LEVEL SECURITY;
ALTER TABLE cordon.forks ENABLE ROW LEVEL SECURITY;
ALTER TABLE cordon.checkpoints ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_records ON cordon.records FOR INSERT TO cordon_ship
  WITH CHECK (node = (SELECT cordon.own_node()));
CREATE POLICY own_checkpoints ON cordon.checkpoints FOR INSERT TO cordon_ship
  WITH CHECK (node = (SELECT cordon.own_node()));
CREATE POLICY read_nodes ON cordon.nodes FOR SELECT TO cordon_read USING (true);
CREATE POLICY read_records ON cordon.records FOR SELECT TO cordon_read USING (true);
CREATE POLICY read_forks ON cordon.forks FOR SELECT TO cordon_read USING (true);
CREATE POLICY read_checkpoints ON cordon.checkpoints FOR SELECT TO cordon_read USING (true);

-- By column: when something was received is not for the sender to say.
GRANT INSERT (node, seq, line, at, phase, pending_seq, action, tool, outcome, reason, denials, duration_ms)
  ON cordon.records TO cordon_ship;
GRANT INSERT (node, line) ON cordon.checkpoints TO cordon_ship;
GRANT SELECT ON cordon.nodes, cordon.records, cordon.forks, cordon.checkpoints, cordon.actions TO cordon_read;
REVOKE EXECUTE ON FUNCTION cordon.own_node(), cordon.enrolled(), cordon.lock_node(), cordon.take_record()
  FROM PUBLIC;
GRANT EXECUTE ON FUNCTION cordon.own_node(), cordon.enrolled() TO cordon_ship;

COMMIT;
