-- Two roles for a journal in PostgreSQL. The owner of its tables runs this once:
--
--     psql -v ON_ERROR_STOP=1 -f roles.sql DATABASE
--
-- acc_writer is for agents. It appends to the history and marks which commit took a message; it can neither change nor
-- delete what was said or committed, nor move a head back. acc_eraser is for who erases, holds, prunes and expires. GRANT them to login roles.

CREATE ROLE acc_writer NOLOGIN;
CREATE ROLE acc_eraser NOLOGIN;

GRANT SELECT ON format, threads, branches, heads, turns, messages, commits, policies, tombstones, holds, feedback,
    keys, indexes TO acc_writer, acc_eraser;
GRANT INSERT ON threads, branches, heads, turns, messages, commits, policies, feedback, keys, indexes
    TO acc_writer, acc_eraser;
GRANT INSERT ON holds TO acc_eraser;
GRANT UPDATE (hash, version, epoch, seq) ON heads TO acc_writer;
GRANT UPDATE (version, turn, ref) ON messages TO acc_writer;

GRANT INSERT ON tombstones TO acc_eraser;
GRANT UPDATE ON heads, turns, messages, commits TO acc_eraser;
GRANT DELETE ON threads, branches, heads, turns, messages, commits, tombstones, holds, feedback, indexes
    TO acc_eraser;

GRANT USAGE ON threads_id_seq, branches_id_seq, messages_id_seq, commits_id_seq, tombstones_id_seq, holds_id_seq,
    feedback_id_seq TO acc_writer, acc_eraser;

-- A writer marks a message once, before any commit took it, and moves a head forward to a commit that is there.
CREATE FUNCTION acc_of_a_writer() RETURNS boolean LANGUAGE sql STABLE AS
    $$ SELECT NOT pg_has_role(current_user, 'acc_eraser', 'USAGE') AND pg_has_role(current_user, 'acc_writer', 'USAGE') $$;

CREATE FUNCTION acc_keep_message() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'a commit took this message: acc_writer may not change it' USING ERRCODE = 'insufficient_privilege';
END $$;

CREATE FUNCTION acc_keep_head() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.version < OLD.version OR NEW.epoch < OLD.epoch OR NOT EXISTS (
        SELECT FROM commits WHERE branch_id = NEW.branch_id AND version = NEW.version AND hash = NEW.hash AND seq = NEW.seq
    ) THEN
        RAISE EXCEPTION 'acc_writer moves a head only forward, and to a commit' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER acc_keep_message BEFORE UPDATE ON messages FOR EACH ROW
    WHEN (OLD.version <> 0 AND acc_of_a_writer()) EXECUTE FUNCTION acc_keep_message();
CREATE TRIGGER acc_keep_head BEFORE UPDATE ON heads FOR EACH ROW
    WHEN (acc_of_a_writer()) EXECUTE FUNCTION acc_keep_head();
