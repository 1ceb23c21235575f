-- Two roles for a journal in PostgreSQL. The owner of its tables runs this once:
--
--     psql -v ON_ERROR_STOP=1 -f roles.sql DATABASE
--
-- acc_writer is for agents. It appends to the history and marks which commit took a message; it can neither change nor
-- delete what was said or committed. acc_eraser is for who erases, holds, prunes and expires. GRANT them to login roles.

CREATE ROLE acc_writer NOLOGIN;
CREATE ROLE acc_eraser NOLOGIN;

GRANT SELECT ON format, threads, branches, heads, turns, messages, commits, policies, tombstones, holds, feedback, copies,
    keys, indexes TO acc_writer, acc_eraser;
GRANT INSERT ON threads, branches, heads, turns, messages, commits, policies, feedback, copies, keys, indexes
    TO acc_writer, acc_eraser;
GRANT INSERT ON holds TO acc_eraser;
GRANT UPDATE (hash, version, epoch, seq) ON heads TO acc_writer;
GRANT UPDATE (version) ON messages TO acc_writer;

GRANT INSERT ON tombstones TO acc_eraser;
GRANT UPDATE ON heads, turns, messages, commits TO acc_eraser;
GRANT DELETE ON threads, branches, heads, turns, messages, commits, tombstones, holds, feedback, indexes
    TO acc_eraser;

GRANT USAGE ON threads_id_seq, branches_id_seq, messages_id_seq, commits_id_seq, tombstones_id_seq, holds_id_seq,
    feedback_id_seq, copies_id_seq TO acc_writer, acc_eraser;
